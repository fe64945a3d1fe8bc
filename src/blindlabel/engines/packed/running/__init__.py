"""An evaluation as it runs: batch by batch, group by group, in this process, in several, or on a Dask cluster."""
