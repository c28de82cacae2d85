//! Many runs of one thing: what `play`, `serve`, `run` and `explore` share.
