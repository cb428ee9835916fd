BX1_newJa±(z€€…ø
N≥Ÿ‘ã›?