Bvalue.V2_new_ifJ ¦X―Ρ0/γΏ‰ΌΚ?ζ‡v
lη?γέR‰ΔIΡΏ