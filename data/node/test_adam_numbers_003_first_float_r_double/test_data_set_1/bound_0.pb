BX_newJ "Ý
§7ý>Ã…X=e?å¾SXkúð>ÑeFãû¹ò>