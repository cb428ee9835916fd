BX_newJ )
ºVÅŽB¦»/Æ^.“B8aW'—BÂ–CMzB