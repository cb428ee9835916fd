BV1_new_twin_laterJ0Û>t¨—>vF¾Ls>tÊñ’¦ˆ>`Ëõ±í‘>ñŸÙœ¤z>[ÆM_å
v>