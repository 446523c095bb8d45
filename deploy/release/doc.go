// Command release writes the files of a release that are not binaries, and checks them:
//
//   - listfacade-image.tar: an OCI image layout with an image for each platform
//   - listfacade-VERSION.tgz: the chart
//   - install.yaml: the manifests of deploy/kubernetes/overlays/authority, which one kubectl apply installs
//
// The same sources, binaries and options give the same bytes: all times are the commit's time, and all lists are
// sorted. The program needs neither Docker nor helm. The subcommand push sends the image to the registry.
//
// Flags give the registry and the URL of the sources, and the files contain both. Without a registry, the manifests
// name only the image, for nodes that already have it.
package main
