B
X_new_lateJ|ф?txРp5?ицЉП