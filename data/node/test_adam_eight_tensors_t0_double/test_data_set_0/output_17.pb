BH2_newJdRÛÊ*â
@‘Ë<?d¾ı?