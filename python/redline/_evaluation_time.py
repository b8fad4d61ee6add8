"""How long a training loop evaluates: none of the time that its samples took.

From the end of a step to the next batch or forward of training, where meanwhile a batch was taken that is not for
training and a model ran without gradients. One alone belongs to training: unlabelled data, or a teacher.
"""


class EvaluationTime:
    """Of one process; total_ns grows when training goes on."""

    def __init__(self):
        self.total_ns = 0
        self._since = None
        self._undecided = None  # the same, of a batch that may still turn out to be of an evaluation
        self._batch = self._forward = False

    def step_ended(self, now_ns):
        self._since = self._undecided = now_ns
        self._batch = self._forward = False

    def other_batch(self):
        self._batch = True

    def forward_without_gradients(self):
        self._forward = True

    def last_batch_was_evaluated(self):
        """Training has not gone on with it."""
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
