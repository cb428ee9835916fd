BreadJA$
Aõh@—È@7pA¯”@A