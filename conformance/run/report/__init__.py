"""Reports on one or more runs, made from results files alone; one module per report format."""
