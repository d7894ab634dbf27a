"""What `write_files` needs: confined paths, temporary files, and the forms in which agents write and edit."""
