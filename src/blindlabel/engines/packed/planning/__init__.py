"""What is settled before anything is computed: parameters, noise and setting of an agreement; probes of a question."""
