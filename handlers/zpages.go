package handlers

import (
	"bytes"
	"strings"

	"github.com/listfacade/listfacade/internal/zpages"
)

// zpage serves /statusz or /flagz like the components of Kubernetes: as text, unless the client requests an API object.
func (s *Server) zpage(page *zpages.Page) func(out *reply, q *Request) error {
	return func(out *reply, q *Request) error {
		if strings.TrimSpace(q.header.Get("Accept")) == "" {
			return out.zpageText(page)
		}
		media, info, err := out.negotiateIn(page.Codecs, page.Restrictions)
		switch {
		case err != nil:
			return err
		case media.Convert == nil:
			return out.zpageText(page)
		}
		if warning := page.Deprecated(media.Convert.Version); warning != "" {
			out.header().Set("Warning", warning)
		}
		var body bytes.Buffer
		if err := page.Codecs.EncoderForVersion(info.Serializer,
			media.Convert.GroupVersion()).Encode(page.Object(*media.Convert), &body); err != nil {
			return err
		}
		out.header().Set("Content-Type",
			info.MediaType+";g="+media.Convert.Group+";v="+media.Convert.Version+";as="+media.Convert.Kind)
		_, err = out.pieces().Write(body.Bytes())
		return err
	}
}

func (o *reply) zpageText(page *zpages.Page) error {
	o.header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := o.pieces().Write(page.Text())
	return err
}
