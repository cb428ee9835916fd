BH2_new_againJ 
`ulçõ¨>ÆtBf•wŽ>+kI÷QŸ¯>¬®¶?Æ2Ÿ>