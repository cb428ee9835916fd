BX_newJxΌTΰ?
³PΘΣGζ?ξ*ηMυσΏ