B
X_second_TJ‘¡†æŸm#>‚ﬁÃ?”Ï»?