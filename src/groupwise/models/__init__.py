"""What runs the models: loading, log-probabilities and saving. The only place that imports transformers."""
