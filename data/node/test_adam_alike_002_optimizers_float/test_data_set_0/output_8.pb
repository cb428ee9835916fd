BV_new_adam_otherJş¾Ÿ?G
‡@|³Ú?áüM@