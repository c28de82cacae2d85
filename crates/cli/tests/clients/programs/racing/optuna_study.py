"""Three workers of Optuna on one study: every trial has a number of its own, and none is lost."""

import os
import sys
import threading

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
URL = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
TRIALS = 3


def work():
    study = optuna.load_study(study_name="parabola", storage=optuna.storages.RDBStorage(URL), sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: (trial.suggest_float("x", -10, 10) - 2) ** 2, n_trials=TRIALS)


study = optuna.create_study(study_name="parabola", storage=optuna.storages.RDBStorage(URL))
workers = [threading.Thread(target=work) for _ in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
trials = study.get_trials()
numbers = sorted(trial.number for trial in trials)
if numbers != list(range(3 * TRIALS)) or not all(trial.state.is_finished() for trial in trials):
    sys.exit(f"trials {[(trial.number, trial.state.name) for trial in trials]}")
