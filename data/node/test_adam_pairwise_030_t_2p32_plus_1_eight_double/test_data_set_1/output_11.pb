BV4_newJ `fL!-AB @ª
0¡ºöµ∏F2-AH-Ríç6¡