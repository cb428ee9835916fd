BH_newJúIÕ?‚e5@×
@O“<@