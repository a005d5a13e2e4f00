"""The rules of the words: what can be wrong with a text, with its schema, or with its dialect.

TP001-TP009 are about the text, TP010-TP029 about the schema, TP030-TP049 about dialects and what was inferred.
Rooms keep their own: `trainjob/runtime_rules.py` and its neighbours have TP050-TP149, `jobset/rules.py` TP150-TP199.
"""

from trainplane.api.problem import Rule, Severity

NOT_TEXT = Rule(
    "TP001",
    Severity.ERROR,
    "The file is not text",
    "A manifest is UTF-8 text in YAML or JSON. This file holds bytes that are not text: it is probably an archive, "
    "an image, or text in another encoding. Save it as UTF-8.",
)
TOO_MUCH = Rule(
    "TP002",
    Severity.ERROR,
    "The text is larger or deeper than any manifest",
    "A file may have 16 MiB, a million values and a hundred levels, and its aliases may repeat 200,000 values. "
    "Beyond that it is a mistake or an attack. Split the file, or keep the data elsewhere.",
)
SYNTAX = Rule(
    "TP003",
    Severity.ERROR,
    "The text is neither YAML nor JSON",
    "The shape of the text breaks here, so nothing after it in this document can be understood. The usual causes are "
    "indentation, a missing quote and a colon inside an unquoted text.",
    bad="spec:\n  suspend: true\n   managedBy: kueue.x-k8s.io/multikueue",
    good="spec:\n  suspend: true\n  managedBy: kueue.x-k8s.io/multikueue",
)
TAB = Rule(
    "TP004",
    Severity.ERROR,
    "A tab stands where YAML wants spaces",
    "YAML indents with spaces alone, because a tab has no agreed width. Replace each tab at the beginning of a line by "
    "two spaces; most editors can do that for you.",
    bad="spec:\n\tsuspend: true",
    good="spec:\n  suspend: true",
)
DUPLICATE_KEY = Rule(
    "TP005",
    Severity.ERROR,
    "A key is written twice",
    "Only one of the two values can count: kubectl drops the first without a word, and the API server refuses "
    "the object. Keep one; where both hold fields, put all fields under one key.",
    bad="spec:\n  suspend: true\n  suspend: false",
    good="spec:\n  suspend: false",
)
NOT_A_VALUE = Rule(
    "TP006",
    Severity.ERROR,
    "The value cannot be part of an object",
    "Objects are JSON: they have no infinite numbers, no tags, no lists as keys, and nothing that contains itself. "
    "Write the plain value instead, in quotes where it is meant as text.",
    bad="spec:\n  activeDeadlineSeconds: .inf",
    good="spec:\n  activeDeadlineSeconds: 3600",
)
ELLIPSIS = Rule(
    "TP007",
    Severity.ERROR,
    "Three dots end the document",
    "A line of three dots means the end of the document in YAML, not that something was left out; kubectl drops what "
    "follows it. Remove the line, or begin the next document with a line of three dashes.",
    bad="spec:\n  suspend: true\n  ...",
    good="spec:\n  suspend: true\n  # ...",
)
READ_OTHERWISE = Rule(
    "TP008",
    Severity.WARNING,
    "The text is read otherwise than it looks",
    "YAML gives some unquoted words another meaning: the key on becomes true, a very long number loses digits. kubectl "
    "does so silently, and so do we, except for this warning. Quote what is meant as text.",
    bad="data:\n  on: a",
    good='data:\n  "on": a',
)
NO_OBJECT = Rule(
    "TP009",
    Severity.ERROR,
    "There is no object here",
    "Each document of a manifest is one object with apiVersion, kind and metadata. An empty file, a list or a bare "
    "text is none. Check that it is the right file; put many objects into many documents, with --- between them.",
    bad="# nothing but a comment",
    good="apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings",
)
UNKNOWN_FIELD = Rule(
    "TP010",
    Severity.ERROR,
    "The field does not exist",
    "The API has no field of that name in this place, and the API server refuses or drops it. It is usually misspelt, "
    "or indented too little or too much, so that it landed in the wrong object.",
    bad="spec:\n  runtimeref:\n    name: torch-distributed",
    good="spec:\n  runtimeRef:\n    name: torch-distributed",
)
MISSING_FIELD = Rule(
    "TP011",
    Severity.ERROR,
    "A required field is missing",
    "The object has no meaning without this field, so the API server refuses it. Add the field.",
    bad="spec:\n  runtimeRef: {}",
    good="spec:\n  runtimeRef:\n    name: torch-distributed",
)
WRONG_TYPE = Rule(
    "TP012",
    Severity.ERROR,
    "The value has the wrong type",
    'The field wants another type of value. In YAML the quotes decide: 4 is a number, "4" is text, and '
    "yes, no, on and off without quotes are booleans. Items of a list begin with a dash.",
    bad='trainer:\n  numNodes: "4"',
    good="trainer:\n  numNodes: 4",
)
NOT_ALLOWED = Rule(
    "TP013",
    Severity.ERROR,
    "The value is not one of those allowed",
    "The field knows only certain words, written exactly so, capital letters included. The message lists them.",
    bad="mpiImplementation: openmpi",
    good="mpiImplementation: OpenMPI",
)
OUT_OF_RANGE = Rule(
    "TP014",
    Severity.ERROR,
    "The number is too small or too large",
    "The field has limits, and the API server refuses what lies beyond. The message gives the limit.",
    bad="ttlSecondsAfterFinished: -1",
    good="ttlSecondsAfterFinished: 0",
)
WRONG_SIZE = Rule(
    "TP015",
    Severity.ERROR,
    "There is too little or too much of it",
    "A text, a list or an object has fewer or more characters, items or fields than the API allows.",
    bad='runtimeRef:\n  name: ""',
    good="runtimeRef:\n  name: torch-distributed",
)
WRONG_FORM = Rule(
    "TP016",
    Severity.ERROR,
    "The text does not have the form the field wants",
    "Some fields hold text of a certain form: a quantity such as 500m or 16Gi, a time, a name. The message says which.",
    bad="resources:\n  limits:\n    memory: 16GB",
    good="resources:\n  limits:\n    memory: 16Gi",
)
REPEATED_ITEM = Rule(
    "TP017",
    Severity.ERROR,
    "Two items of a list are the same one",
    "Items of this list are told apart by a key, such as the name of a container, and every key may be there "
    "once. Rename one item, or remove it.",
    bad="env:\n- name: A\n  value: one\n- name: A\n  value: two",
    good="env:\n- name: A\n  value: two",
)
NULL = Rule(
    "TP018",
    Severity.ERROR,
    "Nothing stands where a value is needed",
    "The field is there but empty, which YAML reads as null, and the API server refuses null here. Give it a "
    "value, or remove the line. Often the lines below were meant to be its content and need more indentation.",
    bad="containers:\n-",
    good="containers:\n- name: node",
)
LAW = Rule(
    "TP019",
    Severity.ERROR,
    "Fields that are fine alone do not go together",
    "The API states conditions between fields, or between the old and the new value of one. The message says which of "
    "them is broken and what to change.",
    bad="volumeClaimPolicies:\n- templates:\n  - metadata:\n      name: data\n      namespace: elsewhere\n"
    "...\nvolumeMounts:\n- name: data\n  mountPath: /data",
    good="volumeClaimPolicies:\n- templates:\n  - metadata:\n      name: data\n...\nvolumeMounts:\n"
    "- name: data\n  mountPath: /data",
)
EMPTY_OBJECT = Rule(
    "TP020",
    Severity.WARNING,
    "A field is there but empty",
    "A field without a value is read as null, and the API server treats it as if it were not there. If that "
    "is meant, remove the line; if not, the lines below probably need more indentation.",
    bad="trainer:\n  env:",
    good="trainer:\n  env: []",
)
MISPLACED = Rule(
    "TP021",
    Severity.ERROR,
    "Fields are in the wrong object",
    "Several fields stand here that belong into another object nearby, most often because the lines are indented too "
    "little or too much. Move the block, and they all fall into place.",
    bad="spec:\nruntimeRef:\n  name: torch-distributed",
    good="spec:\n  runtimeRef:\n    name: torch-distributed",
)

# Dialects, and what is read into a document that does not say it.

DIALECT = Rule(
    "TP030",
    Severity.INFO,
    "The document is in a dialect",
    "The document uses the group or version of OME or of an older Kubeflow Trainer. It is understood, and read as the "
    "same document in trainer.kubeflow.org/v1alpha1; `trainplane convert` prints that document.",
    bad="apiVersion: ome.io/v1beta1",
    good="apiVersion: trainer.kubeflow.org/v1alpha1",
)
UNKNOWN_VERSION = Rule(
    "TP031",
    Severity.ERROR,
    "The apiVersion is not one we understand",
    "The kind is a word of the family, but not in this group and version, so nothing can be said of its fields. "
    "Usually it is a slip of the pen: the hub version is trainer.kubeflow.org/v1alpha1.",
    bad="apiVersion: trainer.kubeflow.org/v1alpha",
    good="apiVersion: trainer.kubeflow.org/v1alpha1",
)
UNKNOWN_KIND = Rule(
    "TP032",
    Severity.ERROR,
    "The kind does not exist in this group",
    "The group has the kinds TrainJob, TrainingRuntime and ClusterTrainingRuntime, spelled exactly so. A cluster would "
    "answer that it knows no such kind.",
    bad="kind: ClusterTrainRuntime",
    good="kind: ClusterTrainingRuntime",
)
OLD_OPERATOR_KIND = Rule(
    "TP033",
    Severity.ERROR,
    "A kind of the Kubeflow Training Operator v1",
    "PyTorchJob, MPIJob and their siblings carry their pods with them; a TrainJob names a runtime instead. The pods "
    "move into a TrainingRuntime once, and each job becomes a short TrainJob; no translation field by field exists.",
    bad="apiVersion: kubeflow.org/v1\nkind: PyTorchJob",
    good="apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  runtimeRef:\n    name: torch-distributed",
)
RUNTIME_GROUP = Rule(
    "TP034",
    Severity.INFO,
    "The runtime is named in the group of a dialect",
    "The runtime is looked for in the group that is named, then in the others. Kubeflow Trainer itself knows the group "
    "trainer.kubeflow.org alone and refuses the job, so the converted document names that group.",
    bad="runtimeRef:\n  apiGroup: kubeflow.org\n  name: torch-distributed",
    good="runtimeRef:\n  apiGroup: trainer.kubeflow.org\n  name: torch-distributed",
)
MOVED_FIELD = Rule(
    "TP035",
    Severity.INFO,
    "A field has another name now",
    "An older API had this field in another place or under another name. It is read as what it means today, and "
    "`trainplane convert` writes it so.",
    bad="trainingRuntimeRef:\n  name: torch-distributed",
    good="runtimeRef:\n  name: torch-distributed",
)
NO_EQUIVALENT = Rule(
    "TP036",
    Severity.ERROR,
    "A field of an older API has no equivalent",
    "The field existed in an older TrainJob and nothing today means the same. Leaving it out silently would change "
    "what the job does, so the document is refused until its author has chosen what to do instead.",
    bad="modelConfig:\n  output:\n    storageUri: hf://org/model",
    good="trainer:\n  env:\n  - name: UPLOAD_TO\n    value: hf://org/model",
)
TRAINER_INFERRED = Rule(
    "TP037",
    Severity.INFO,
    "The trainer job was inferred",
    "No replicated job carries the label trainer.kubeflow.org/trainjob-ancestor-step: trainer, so the trainer is found "
    "by its name (node, worker, trainer-node) or by being the only one. Kubeflow Trainer itself wants the label.",
    bad="- name: worker\n  template:\n    spec: {}",
    good="- name: worker\n  template:\n    metadata:\n      labels:\n"
    "        trainer.kubeflow.org/trainjob-ancestor-step: trainer\n    spec: {}",
)
CONTAINER_INFERRED = Rule(
    "TP038",
    Severity.INFO,
    "The container was inferred",
    "The trainer's container is the one called node, an initializer's is called as its step. Here the pod has a single "
    "container with another name, and that one is taken. Kubeflow Trainer looks for the name and finds nothing else.",
    bad="containers:\n- name: pytorch",
    good="containers:\n- name: node",
)
INITIALIZER_INFERRED = Rule(
    "TP039",
    Severity.INFO,
    "An initializer was inferred",
    "The job has the exact name of an initializer but not its ancestor label. It is taken for that initializer, so "
    "spec.initializer of a TrainJob reaches it. Kubeflow Trainer wants the label as well.",
    bad="- name: dataset-initializer\n  template:\n    spec: {}",
    good="- name: dataset-initializer\n  template:\n    metadata:\n      labels:\n"
    "        trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer\n    spec: {}",
)
LAUNCHER_INFERRED = Rule(
    "TP040",
    Severity.INFO,
    "The MPI launcher was inferred",
    "With mlPolicy.mpi the job called launcher starts mpirun, and a TrainJob's image, command and args go to it. It "
    "starts when the workers are ready, and the job is complete when it is. Kubeflow Trainer wants the label "
    "trainer.kubeflow.org/trainjob-ancestor-step: trainer on it. A launcher with the label is taken at its word: give "
    "it a dependsOn, and the JobSet a successPolicy, along with the label.",
    bad="mpi: {}\nreplicatedJobs:\n- name: launcher\n- name: node",
    good="mpi: {}\nreplicatedJobs:\n- name: launcher\n  template:\n    metadata:\n      labels:\n"
    "        trainer.kubeflow.org/trainjob-ancestor-step: trainer\n- name: node",
)
NO_TRAINER = Rule(
    "TP041",
    Severity.WARNING,
    "No replicated job is plainly the trainer",
    "Several jobs could be the trainer and none is labelled. The node count and the settings of a TrainJob would reach "
    "no job at all: it would run the template as it stands. Label the one that trains.",
    bad="replicatedJobs:\n- name: node\n- name: worker",
    good="replicatedJobs:\n- name: node\n  template:\n    metadata:\n      labels:\n"
    "        trainer.kubeflow.org/trainjob-ancestor-step: trainer\n- name: worker",
)
STEP_TWICE = Rule(
    "TP042",
    Severity.WARNING,
    "Two jobs carry the same ancestor label",
    "A step of the workflow is played by one job. With two, the addresses of the nodes name only the first, and the "
    "second gets the same settings and waits for partners that never count it. Remove the label from all but one.",
    bad="- name: node\n  template:\n    metadata:\n      labels:\n"
    "        trainer.kubeflow.org/trainjob-ancestor-step: trainer\n- name: check\n  template:\n"
    "    metadata:\n      labels:\n        trainer.kubeflow.org/trainjob-ancestor-step: trainer",
    good="- name: node\n  template:\n    metadata:\n      labels:\n"
    "        trainer.kubeflow.org/trainjob-ancestor-step: trainer\n- name: check",
)
LABELLED_WITHOUT_CONTAINER = Rule(
    "TP043",
    Severity.ERROR,
    "The job's own container is not to be told",
    "The job is labelled as a step, but among its containers none has the name of that step (node for the trainer). "
    "The settings of a TrainJob would have nowhere to go, and a cluster refuses the runtime.",
    bad="containers:\n- name: train\n- name: logger",
    good="containers:\n- name: node\n- name: logger",
)
CONTAINER_UNCLEAR = Rule(
    "TP044",
    Severity.WARNING,
    "The inferred job's container is not to be told",
    "The job was inferred, and has several containers of which none has the expected name (node for the trainer). "
    "The settings of a TrainJob reach none of them. Call the one that trains node.",
    bad="- name: node\n  template:\n    spec:\n      template:\n        spec:\n          containers:\n"
    "          - name: train\n          - name: logger",
    good="- name: node\n  template:\n    spec:\n      template:\n        spec:\n          containers:\n"
    "          - name: node\n          - name: logger",
)
NO_LAUNCHER = Rule(
    "TP045",
    Severity.WARNING,
    "MPI without a launcher",
    "mpirun is started once, in a job called launcher, and reaches the other nodes by ssh. Without that job every node "
    "starts an mpirun of its own, and with more than one node the processes never meet.",
    bad="mpi: {}\nreplicatedJobs:\n- name: worker",
    good="mpi: {}\nreplicatedJobs:\n- name: launcher\n- name: worker",
)
PLAIN_INITIALIZER = Rule(
    "TP046",
    Severity.WARNING,
    "A job called initializer starts beside the trainer",
    "Only dataset-initializer and model-initializer are steps; a job called initializer is a stage like any other, and "
    "without dependsOn the trainer does not wait for it. Add dependsOn, or label the job as the step it is.",
    bad="- name: initializer\n- name: node",
    good="- name: initializer\n- name: node\n  dependsOn:\n  - name: initializer\n    status: Complete",
)
FRAMEWORK_INFERRED = Rule(
    "TP047",
    Severity.INFO,
    "The framework label was inferred",
    "Clients list a runtime under the framework of the label trainer.kubeflow.org/framework, and the kubeflow SDK "
    "passes over a runtime without it. The ML policy says which it is, and the converted document carries the label.",
    bad="apiVersion: ome.io/v1beta1\nmetadata:\n  name: my-runtime",
    good="apiVersion: ome.io/v1beta1\nmetadata:\n  name: my-runtime\n  labels:\n"
    "    trainer.kubeflow.org/framework: torch",
)
FRAMEWORK_LABEL = Rule(
    "TP048",
    Severity.WARNING,
    "The framework label is missing or unknown",
    "Clients list a runtime under the framework of the label trainer.kubeflow.org/framework, and the kubeflow SDK "
    "passes over a runtime without it. Write the framework into the label.",
    bad="metadata:\n  name: my-runtime",
    good="metadata:\n  name: my-runtime\n  labels:\n    trainer.kubeflow.org/framework: torch",
)
