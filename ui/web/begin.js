// Last of the bundle: the parts that gradio has drawn already, then those still to come.

for (const part of window.speculationLabParts ?? []) part(lab);
window.speculationLabParts = { push: (part) => part(lab) };
window.speculationLab = lab;  // for measuring, and for curious people at the console
