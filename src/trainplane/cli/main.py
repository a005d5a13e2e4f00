"""The `trainplane` command: reads the first word and loads only the verb that is asked for."""

import atexit
import gc
import os
import sys

from trainplane import __version__

VERBS: dict[str, str] = {
    "lint": "Check documents and say what is wrong, where, and what to do.",
    "convert": "Print documents of any dialect in the words of trainer.kubeflow.org/v1alpha1.",
    "render": "Print every object that TrainJobs become.",
    "explain": "Say what TrainJobs become and why: the arithmetic, the surprises, the objects, or one field's history.",
    "diff-runtime": "Say which TrainJobs another runtime would change, and how, and which it would refuse.",
    "crds": "Print the CustomResourceDefinitions that a cluster needs, or only those called NAME.",
    "up": "Start a cluster on this machine, and serve it until Ctrl-C.",
    "status": "Say whether a cluster runs, what it holds, and how long its certificates last.",
    "down": "Stop a cluster that `up` has started; its data stays.",
    "reset": "Delete a cluster: its objects, certificates and tokens.",
    "get": "List jobs, runtimes, nodes, queues or pods.",
    "describe": "Say all that is worth knowing of a job: how it stands and why, its pods, what happened.",
    "why": "Say what a job waits for, since when, and the way out.",
    "suspend": "Stop jobs for now: their pods go, and what they held is free for others.",
    "resume": "Let suspended jobs go on: they wait for nodes again, and begin anew.",
    "scale": "Give a job another number of nodes.",
    "delete": "Delete jobs, with all that was made for them.",
    "wait": "Wait until jobs are complete, or whatever else --for says.",
    "events": "Say what happened, to a job and all that was made for it, or to everything; the latest comes last.",
    "top": "Say who holds what: jobs, or nodes with what is taken of them; those that hold most come first.",
    "history": "List jobs that have ended, whether they are still there or not: how, when, and what they took.",
    "demo": "Train a small model with torch on several nodes of this machine, and show what happens.",
    "run": "Run a script with its folder on several nodes, show what it writes, and leave with its exit code.",
    "logs": "Show what a job's pods wrote, all ranks merged in the order of time, each line with its rank.",
    "exec": "Run a command in a pod of a job, and leave with its exit code.",
    "profile": "Show where a rank of a running job spends its time: a flame graph by py-spy.",
    "doctor": "Say what this machine can do for pods, and how to get more.",
    "kubeconfig": "Print the path of a cluster's kubeconfig, and nothing else.",
    "kubectl": "Run kubectl on a cluster.",
    "token": "Make, list and revoke the tokens of people and programs.",
    "backup": "Copy all objects of a cluster into FILE, whether it runs or not.",
    "restore": "Put the objects of a backup in place of those of a cluster, whether it runs or not.",
    "help": "Explain a rule, a verb or a topic.",
}
"""Verb → its one-line help. Its click command is the function of its name in the module of its name, with _ for -."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Before click is imported: this is the first thing people type, and it should feel instant.
        sys.stdout.write(f"trainplane {__version__}\n")
        return
    # Loading makes many objects and no garbage: looking for some would cost a tenth of a short verb's time.
    gc.disable()
    from trainplane.cli.group import run

    leave(run(sys.argv[1:]))


def leave(code: int) -> None:
    """End the process at once: to take apart all that was loaded takes as long as many a verb, and helps nobody."""
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        # Whoever read is gone; the interpreter knows what to say.
        sys.exit(code)
    import threading

    if threading.active_count() > 1:
        sys.exit(code)
    # There is no other way to have them run but the long one.
    atexit._run_exitfuncs()
    os._exit(code)
