B
vvvvvvvvvvJ Ñ›| «@∞N«bHnŸ?Fú3Ì÷E@
‚∏Ö^Ü	@