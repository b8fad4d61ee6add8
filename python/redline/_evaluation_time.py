"""Measures how long a training loop evaluates, because that time must not count against its training samples.

An evaluation lasts from the end of a step to the next batch or forward of training, if in between the script took a
batch that is not for training and also ran a model without gradients. One of the two alone may belong to training: a
batch of unlabelled data, or a teacher model that runs without gradients.

A script without a DataLoader shows no batches. There a model that trains was evaluated if it ran in evaluation mode
without gradients before any training of the step, unless each step begins so, as rollouts in reinforcement learning do.
The step log has the same rule (profiler/python/training_loop.cc).
"""


class EvaluationTime:
    """The evaluation time of one process. total_ns grows when training goes on after an evaluation."""

    def __init__(self):
        self.total_ns = 0
        self._since = None  # when the step ended, until training goes on
        # The same time, kept longer: the batch with which training seems to go on may turn out to be for evaluation.
        self._undecided = None
        self._batch = self._forward = False  # a batch not for training was taken; a model ran without gradients
        self._is_underway = False  # the step has taken a batch or trained a model
        self._evaluated = None  # id of the model that was evaluated before
        self._begins_so = self._began_so = False  # this step began with an evaluation of its model; the one before did

    def backward_ended(self, now_ns):
        self._since = self._undecided = now_ns
        self._batch = self._forward = False

    def step_ended(self, now_ns):
        self.backward_ended(now_ns)
        self._is_underway = False
        self._evaluated = None
        self._began_so, self._begins_so = self._begins_so, False

    def other_batch(self):
        self._batch = self._is_underway = True

    def forward_without_gradients(self, model):
        """`model` is None if it is in training mode."""
        self._forward = True
        if self._evaluated is None and not self._is_underway:
            self._evaluated = None if model is None else id(model)

    def last_batch_was_evaluated(self):
        """The batch that seemed to be for training was for evaluation. So training has not gone on yet."""
        self._since = self._undecided
        self._batch = self._forward = True

    def training_goes_on(self, now_ns):
        self._is_underway = True
        if self._since is None:
            return
        if self._batch and self._forward:
            self.total_ns += now_ns - self._since
            self._undecided = now_ns
        self._since = None

    def forward_with_gradients(self, model, now_ns):
        """`model` is None if it is not in training mode."""
        if not self._is_underway and self._evaluated is not None and self._evaluated == id(model):
            self._begins_so = True
            self._batch = self._forward = not self._began_so
        self.training_goes_on(now_ns)
        self._undecided = None
