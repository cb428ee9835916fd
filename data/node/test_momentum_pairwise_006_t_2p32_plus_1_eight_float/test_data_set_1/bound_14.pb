BV7_newJÏ¶
‡M§?