BH9_newJqupJ‘Î<ë
D2±<