B
G_double_1J  …яаеѕ?.У‚ц“uш?z7LG1$рїdIЙpОцї