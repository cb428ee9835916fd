BH5_new_matricesJ—
%@ùO@dŒä?‚ô?