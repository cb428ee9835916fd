B
V_new_twinJÏ­¡>@yF?nOð¿€‘Å?a`ÀÐî¾