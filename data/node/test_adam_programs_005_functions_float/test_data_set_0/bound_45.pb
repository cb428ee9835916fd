BH_new_branchJ Gm‰F¶>ïS·—%
˜>B1 74•>Òº«‹òI’>