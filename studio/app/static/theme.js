// The theme that was chosen, before anything is drawn; a module would come too late.

document.documentElement.dataset.theme = localStorage.getItem("penstock.theme") ?? "";
