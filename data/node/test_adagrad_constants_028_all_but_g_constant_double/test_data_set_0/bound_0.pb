BX_newJmù]
Á±<