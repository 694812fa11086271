from ez_ptc.sandbox.check.absences import ABSENT as ABSENT
