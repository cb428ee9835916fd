BH_each_shiftedJ0|”P@À
H?J3Æ>>n@5:@Ü>t½Ì>n­„@ú®‰@™½‚>YÝÌ>ÿc‡@