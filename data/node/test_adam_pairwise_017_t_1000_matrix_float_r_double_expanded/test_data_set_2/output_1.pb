BV_newJÖÈŸÉ
nÑÇâ³ÈIôû Grº¤ÉìL‡I