// Sends the form of the Form Post Response Mode. The prototype's method, because a parameter may be called "submit".
const form = document.getElementById("form-post");
if (form) HTMLFormElement.prototype.submit.call(form);
