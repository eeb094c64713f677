"""What notebooks and scripts use: ``run`` and ``results`` in Python, with tables and charts that show themselves."""
