BH_each_shiftedJ0"@?û@î
?@@ñcB?D@íª@¥A@A‡D?˜2@Àô@L@