"""Measures how long a training loop evaluates, because that time must not count against its training samples.

An evaluation lasts from the end of a step to the next batch or forward of training, if in between the script took a
batch that is not for training and also ran a model without gradients. One of the two alone may belong to training: a
batch of unlabelled data, or a teacher model that runs without gradients.
"""


class EvaluationTime:
    """The evaluation time of one process. total_ns grows when training goes on after an evaluation."""

    def __init__(self):
        self.total_ns = 0
        self._since = None  # when the step ended, until training goes on
        # The same time, kept longer: the batch with which training seems to go on may turn out to be for evaluation.
        self._undecided = None
        self._batch = self._forward = False  # a batch not for training was taken; a model ran without gradients

    def step_ended(self, now_ns):
        self._since = self._undecided = now_ns
        self._batch = self._forward = False

    def other_batch(self):
        self._batch = True

    def forward_without_gradients(self):
        self._forward = True

    def last_batch_was_evaluated(self):
        """The batch that seemed to be for training was for evaluation. So training has not gone on yet."""
        self._since = self._undecided
        self._batch = self._forward = True

    def training_goes_on(self, now_ns):
        if self._since is None:
            return
        if self._batch and self._forward:
            self.total_ns += now_ns - self._since
            self._undecided = now_ns
        self._since = None

    def forward_with_gradients(self, now_ns):
        self.training_goes_on(now_ns)
        self._undecided = None
