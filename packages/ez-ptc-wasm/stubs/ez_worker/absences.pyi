from ez_ptc.sandbox.worker.absences import ABSENT as ABSENT
