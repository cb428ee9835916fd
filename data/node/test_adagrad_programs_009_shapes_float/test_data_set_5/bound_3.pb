BH_new_shapes_2J0ซจะLA) >‘ข}พ9O>—fปฏ๙ฌก>๛TวQฃeด>9l>
๓ค—kFท>