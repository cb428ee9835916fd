BX2_new_twin_negative_ifJ øø¡*"Ož>Û¡
>Õ‰?ÀÕƒ>¤™a(—>