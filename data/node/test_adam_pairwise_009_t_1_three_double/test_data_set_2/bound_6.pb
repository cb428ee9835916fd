BH1_newJýt:sW!?
cWXF?