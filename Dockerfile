# An image with growth-export, a static binary, and a shell for --on-finish and the Kubernetes examples. It runs as an
# unprivileged user (65532) and writes only to the scratch volume and the destination:
#
#   docker build --build-arg VERSION=1.0.0 --tag growth-export .    (with BuildKit; make image builds two architectures)
#   docker run --rm --read-only --volume growth-scratch:/scratch \
#     --env GROWTH_EXPORT_API_KEY --env GROWTH_EXPORT_API_SECRET \
#     growth-export run --base-url https://host --dest s3://bucket/prefix
#
# To export to a folder, mount a volume that user 65532 may write (fsGroup in Kubernetes). The shell has only its built-in
# commands: if --on-finish needs others, copy the binary into an image that has them.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG COMMIT=unknown
ARG TARGETARCH
RUN CGO_ENABLED=0 GOARCH=${TARGETARCH} go build -trimpath -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${COMMIT}" \
    -o /out/growth-export ./cmd/export && \
    mkdir -m 700 /out/scratch

FROM scratch
# Root certificates for the service and S3; SSL_CERT_FILE overrides them.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=busybox:1.37-musl /bin/busybox /bin/sh
COPY --from=build /out/growth-export /usr/local/bin/growth-export
COPY --from=build --chown=65532:65532 /out/scratch /scratch
ENV GROWTH_EXPORT_SCRATCH=/scratch TMPDIR=/scratch
VOLUME /scratch
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/growth-export"]
CMD ["--help"]
