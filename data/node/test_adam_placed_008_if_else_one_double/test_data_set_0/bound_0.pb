B
X_new_sameJ0Ê38dL#>öé	>ÍµÊcQ>kÃþñÄÐE>›–gíš\c>#ŸÏQ1U>