"""The rules of Jobs, TP220-TP239: what an API server refuses of batch/v1 Jobs beyond their schema."""

from trainplane.api.problem import Rule, Severity

COUNT = Rule(
    "TP220",
    Severity.ERROR,
    "A number of the Job is out of bounds",
    "Counts, limits and seconds of a Job are never negative, and Kubernetes has upper bounds for Jobs that keep "
    "account of each index: at most 100000 pods at a time, and 10000 where so many indexes have limits of their own.",
    bad="parallelism: -1",
    good="parallelism: 1",
)
RESTART_POLICY = Rule(
    "TP221",
    Severity.ERROR,
    "The pods of a Job would never end, or end unseen",
    "A Job waits for its pods to end, so they restart Never or OnFailure; Always, the default of pods, is refused. "
    "With podFailurePolicy it must be Never, for a container that restarts in place never shows its exit code.",
    bad="template:\n  spec:\n    restartPolicy: Always",
    good="template:\n  spec:\n    restartPolicy: Never",
)
NEEDS_INDEXES = Rule(
    "TP222",
    Severity.ERROR,
    "A field that has a meaning for Indexed Jobs alone",
    "Limits per index and success policies speak of completion indexes, which only the pods of an Indexed Job have, "
    "and an Indexed Job says how many there are: write completionMode: Indexed and completions.",
    bad="backoffLimitPerIndex: 1",
    good="completionMode: Indexed\ncompletions: 4\nbackoffLimitPerIndex: 1",
)
NAME = Rule(
    "TP223",
    Severity.ERROR,
    "The Job's name does not fit its pods",
    "Each pod of an Indexed Job has the Job's name, a dash and its index for a hostname, and every pod carries the "
    "name as a label: together at most 63 lower-case letters, digits and dashes. Shorten the name.",
)
FAILURE_POLICY = Rule(
    "TP224",
    Severity.ERROR,
    "A podFailurePolicy that cannot be followed",
    "A rule has an action and either exit codes or pod conditions to look for. Exit codes are listed once each, in "
    "order; 0 is success and no failure; a container that is named must be in the template.",
    bad="rules:\n- action: FailJob\n  onExitCodes:\n    operator: In\n    values: [0]",
    good="rules:\n- action: FailJob\n  onExitCodes:\n    operator: In\n    values: [42]",
)
SUCCESS_POLICY = Rule(
    "TP225",
    Severity.ERROR,
    "A successPolicy that cannot be met",
    "A rule lists indexes such as 0,2-4, in order and below completions, or says how many must succeed, or both; it "
    "cannot ask for more than there are.",
    bad="completions: 4\nsuccessPolicy:\n  rules:\n  - succeededIndexes: 3-5",
    good="completions: 4\nsuccessPolicy:\n  rules:\n  - succeededIndexes: 0-1\n    succeededCount: 1",
)
SELECTOR = Rule(
    "TP226",
    Severity.ERROR,
    "The selector does not find the Job's own pods",
    "A Job is given a selector that no other pods meet. Who writes another must say manualSelector: true, and give the "
    "template the labels it asks for; otherwise the Job would count the pods of others, or miss its own.",
    bad="selector:\n  matchLabels:\n    app: train",
    good="manualSelector: true\nselector:\n  matchLabels:\n    app: train\n"
    "template:\n  metadata:\n    labels:\n      app: train",
)
WORD = Rule(
    "TP227",
    Severity.ERROR,
    "A word that Jobs do not know",
    "completionMode is NonIndexed or Indexed; podReplacementPolicy is TerminatingOrFailed or Failed, and Failed beside "
    "a podFailurePolicy; managedBy is a domain, a slash and a name, in at most 63 characters.",
    bad="completionMode: Sorted",
    good="completionMode: Indexed",
)
FIXED = Rule(
    "TP228",
    Severity.ERROR,
    "A field that cannot change after creation",
    "Pods that run were made from what the Job said, so the template, the selector, the mode and the policies stay. "
    "What may change is suspend, parallelism, backoffLimit, the deadline and the time to live; and of the template of "
    "a Job that is suspended and has no pods, what schedules them: labels, annotations, nodeSelector, node affinity, "
    "tolerations, schedulingGates and resources.",
)
TANDEM = Rule(
    "TP229",
    Severity.ERROR,
    "completions may change only together with parallelism",
    "An Indexed Job is resized by setting completions and parallelism to the same new number in one change; of other "
    "Jobs completions cannot change at all.",
    bad="completions: 8\nparallelism: 4",
    good="completions: 8\nparallelism: 8",
)
