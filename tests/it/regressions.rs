//! What once went wrong.

mod doctor;
