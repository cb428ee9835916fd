B
H_new_adamJE,ğ?ÒóIA~æ—@ÿj0A