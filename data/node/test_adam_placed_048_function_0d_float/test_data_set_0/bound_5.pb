B
X_new_twinJ\<lûÑf”>